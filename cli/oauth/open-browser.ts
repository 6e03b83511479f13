import { spawn } from 'node:child_process';

/** Milliseconds within which a failing opener exits. */
const PATIENCE = 1500;

/** Prefers BROWSER to the default of the platform. */
export function browserCommand(url: string, platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string[] {
  const chosen = environment.BROWSER?.split(':').find((entry) => entry !== '');
  if (chosen !== undefined) {
    const words = chosen.split(' ');
    return words.some((word) => word.includes('%s'))
      ? words.map((word) => word.replaceAll('%s', url))
      : [...words, url];
  }
  if (platform === 'darwin') return ['open', url];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}

/** Returns false without a browser, or if it fails at once. */
export function openBrowser(url: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const [command = '', ...args] = browserCommand(url, process.platform, environment);
  return new Promise((resolve) => {
    const child = spawn(command, args, { detached: true, stdio: 'ignore', env: environment });
    const patience = setTimeout(() => resolve(true), PATIENCE);
    const end = (works: boolean): void => {
      clearTimeout(patience);
      resolve(works);
    };
    child.once('error', () => end(false));
    child.once('exit', (code) => end(code === 0));
    child.unref();
  });
}
