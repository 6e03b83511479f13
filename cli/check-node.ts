/** The oldest Node that this program runs on, as `package.json` says. */
const OLDEST = [22, 19] as const;

/** What to say where Node is too old; undefined: it is not. `version`: as `process.versions.node` has it. */
export function faultOfNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `vmcp needs Node ${OLDEST.join('.')} or later, and this is ${version}: run it by npx, which takes the one in node_modules, or install a later one`;
}
