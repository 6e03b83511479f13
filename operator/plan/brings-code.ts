/** What Node may be told of its memory; anything else that it is told by a variable may be code. */
const MEMORY = /^(\s*--max-(old|semi)-space-size(-percentage)?=\d+)*\s*$/;

/** What the loader or Node reads before a program of ours does, and what makes it believe any certificate. */
const LOADERS = /^(LD_|NODE_(PATH|REPL_|TLS_REJECT_UNAUTHORIZED)|OPENSSL_(CONF|MODULES|ENGINES)|SSLKEYLOGFILE)/;

interface Variable {
  name: string;
  value?: string | undefined;
  valueFrom?: object | undefined;
}

/** Whether a variable lets its writer decide what runs in a process of ours, which knows the credentials of others. */
export function bringsCode({ name, value = '', valueFrom }: Variable): boolean {
  if (name === 'NODE_OPTIONS') return valueFrom !== undefined || !MEMORY.test(value);
  return LOADERS.test(name);
}
