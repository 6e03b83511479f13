/** Returns the encodings of one secret. */
function variantsOf(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex');
  const plain = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), hex];
  return [...new Set([...plain, ...insideBase64(secret)])];
}

/** Returns the parts of its base64 text that are the same at any offset inside a longer text. */
function insideBase64(secret: string): readonly string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const first = Math.ceil((offset * 8) / 6);
    const whole = Math.floor((bytes.length * 8) / 6);
    return (['base64', 'base64url'] as const).map((encoding) => bytes.toString(encoding).slice(first, whole));
  });
}

/** Returns the names of secrets with the outputs that contain them, in any encoding. */
export function findSecrets(
  outputs: Readonly<Record<string, string>>,
  secrets: ReadonlyMap<string, string>,
): readonly string[] {
  return [...secrets].flatMap(([secret, name]) => {
    if (secret.length < 16) throw new Error(`${name} is too short to be searched for`);
    const variants = variantsOf(secret);
    return Object.entries(outputs)
      .filter(([, text]) => variants.some((variant) => text.includes(variant)))
      .map(([output]) => `${name} in ${output}`);
  });
}
