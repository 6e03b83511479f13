/** Returns whether a secret has no character besides blanks: the plan and the runtime count it as empty. */
export const isBlank = (secret: string): boolean => secret.trim() === '';
