/** `package.json` has the same one. */
const OLDEST = [22, 19] as const;

/** `version` has the form of `process.versions.node`. */
export function faultOfNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `vmcp needs Node ${OLDEST.join('.')} or later, and this is ${version}: run it by npx, which takes the one in node_modules, or install a later one`;
}
