// A test loads this module into a program by `--import`. Long timers run 60 times as fast. Request deadlines and short
// delays, which depend on the other side, stay unchanged.

/** Milliseconds. Longer timers are shortened. */
const LONG = 20_000;
const TIMES = 60;

globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
  apply: (wait: typeof setTimeout, self, [then, milliseconds = 0, ...rest]: Parameters<typeof setTimeout>) =>
    Reflect.apply(wait, self, [then, milliseconds > LONG ? milliseconds / TIMES : milliseconds, ...rest]) as unknown,
});
