// Loaded into a program of a test by `--import`: what it does by the minute comes by the second. Deadlines of requests and
// short delays, which the other side has a part in, stay what they are.

/** Milliseconds: what waits longer than this is hastened. */
const LONG = 20_000;
const TIMES = 60;

globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
  apply: (wait: typeof setTimeout, self, [then, milliseconds = 0, ...rest]: Parameters<typeof setTimeout>) =>
    Reflect.apply(wait, self, [then, milliseconds > LONG ? milliseconds / TIMES : milliseconds, ...rest]) as unknown,
});
