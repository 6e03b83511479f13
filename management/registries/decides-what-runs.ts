/** These variables make loaders, interpreters, package managers or engines run other code or trust other hosts. */
const DECIDING = [
  'path|home|shell|bash_env|ifs|prompt_command|pager|editor|visual|browser|tmpdir|virtual_env',
  '(ld|dyld|xdg|npm|yarn|pnpm|corepack|uv|pip|pipx|deno|bun|tsx|ts_node|openssl|containers|podman|nerdctl|buildah)_.*',
  'node_(options|path|repl_.*|extra_ca_certs|tls_reject_unauthorized)|git_(?!author_|committer_).*|ssh_.*',
  'python(path|home|startup|userbase|inspect|breakpoint|platlibdir|executable|warnings|pycacheprefix)',
  'perl5.*|perllib|ruby(opt|lib)|_?java_(tool_)?options|jdk_java_options|go(debug|flags|proxy)|storage_(driver|opts)',
  '(https?|all|no)_proxy|ssl_cert_.*|(requests|curl)_ca_bundle|registry_auth_file',
  'docker_(host|context|config|cert_path|tls.*|cli_.*)|container_(host|connection|sshkey|proxy)',
];
const PATTERN = new RegExp(`^(${DECIDING.join('|')})$`, 'i');

/** A registry entry must not set such a variable. */
export const decidesWhatRuns = (variable: string): boolean => PATTERN.test(variable);
