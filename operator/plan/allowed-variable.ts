/** What Node may be told of its memory; anything else that it is told by a variable may be code. */
const MEMORY = /^(\s*--max-(old|semi)-space-size(-percentage)?=\d+)*\s*$/;

/** Time zone, language, threads and memory. */
const ALLOWED = /^(TZ|LANG|LANGUAGE|LC_[A-Z]+|UV_THREADPOOL_SIZE|MALLOC_[A-Z_]+)$/;

export interface Variable {
  name: string;
  value?: string | undefined;
  valueFrom?: object | undefined;
}

/**
 * Whether the writer of a resource may set a variable of a process of ours, which knows the credentials of others. Others may
 * say what runs in it, where it connects (`HTTPS_PROXY`, `LOCALDOMAIN`) or whom it trusts (`NODE_EXTRA_CA_CERTS`).
 */
export function isAllowedVariable({ name, value = '', valueFrom }: Variable): boolean {
  if (valueFrom !== undefined) return false;
  return name === 'NODE_OPTIONS' ? MEMORY.test(value) : ALLOWED.test(name);
}
