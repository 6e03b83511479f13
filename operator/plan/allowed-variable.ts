/** Memory options of Node. Any other Node option set by a variable may load code. */
const MEMORY = /^(\s*--max-(old|semi)-space-size(-percentage)?=\d+)*\s*$/;

/** Time zone, language, threads and memory. */
const ALLOWED = /^(TZ|LANG|LANGUAGE|LC_[A-Z]+|UV_THREADPOOL_SIZE|MALLOC_[A-Z_]+)$/;

export interface Variable {
  name: string;
  value?: string | undefined;
  valueFrom?: object | undefined;
}

/**
 * Returns whether a tenant may set a variable of a vmcp process, which knows the credentials of others. Other variables
 * may say what it runs, where it connects (`HTTPS_PROXY`, `LOCALDOMAIN`) or whom it trusts (`NODE_EXTRA_CA_CERTS`).
 */
export function isAllowedVariable({ name, value = '', valueFrom }: Variable): boolean {
  if (valueFrom !== undefined) return false;
  return name === 'NODE_OPTIONS' ? MEMORY.test(value) : ALLOWED.test(name);
}
