/** Variables that programs need to start and to reach a restricted network. Others may be secret. */
const PROGRAMS = [
  'PATH HOME USER LOGNAME SHELL TERM LANG LC_ALL TZ TMPDIR SystemRoot',
  'HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE',
];

/** Variables with which clients of container engines find their engine, images and settings. */
const ENGINES = [
  'XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_CERT_PATH DOCKER_TLS_VERIFY',
  'CONTAINER_HOST CONTAINER_CONNECTION CONTAINER_SSHKEY CONTAINERS_CONF CONTAINERS_STORAGE_CONF REGISTRY_AUTH_FILE',
  'CONTAINERD_ADDRESS CONTAINERD_NAMESPACE NERDCTL_TOML',
];

const NAMES = [...PROGRAMS, ...ENGINES].flatMap((line) => line.split(' '));

export function inheritedVariables(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    NAMES.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
}
