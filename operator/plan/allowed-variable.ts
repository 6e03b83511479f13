/** Memory options of Node. Any other Node option set by a variable may load code. */
const MEMORY = /^(\s*--max-(old|semi)-space-size(-percentage)?=\d+)*\s*$/;

/** Time zone, language, threads and memory. */
const ALLOWED = /^(TZ|LANG|LANGUAGE|LC_[A-Z]+|UV_THREADPOOL_SIZE|MALLOC_[A-Z_]+)$/;

export interface Variable {
  name: string;
  value?: string | undefined;
  valueFrom?: object | undefined;
}

/** Rejects variables for the code, servers (`HTTPS_PROXY`) or trust (`NODE_EXTRA_CA_CERTS`) of a process with credentials of others. */
export function isAllowedVariable({ name, value = '', valueFrom }: Variable): boolean {
  if (valueFrom !== undefined) return false;
  return name === 'NODE_OPTIONS' ? MEMORY.test(value) : ALLOWED.test(name);
}
