/** Style sheet of all pages: no external images or fonts, readable from 320 px, light and dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f3f4f7; --card: #ffffff; --ink: #1a1f29; --soft: #525b6b; --line: #d8dce4; --edge: #7b8494;
  --accent: #2647c0; --accent-ink: #ffffff; --accent-over: #1c389f;
  --warn: #fff5dd; --warn-line: #d9a93f; --warn-ink: #5a3f00;
  --good: #e4f4ea; --good-ink: #14532d; --bad: #fdecea; --bad-ink: #8c1d18; --quiet: #eceff4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1217; --card: #181c24; --ink: #e9ecf2; --soft: #a7afbe; --line: #2d3340; --edge: #788296;
    --accent: #9bb2ff; --accent-ink: #0d1330; --accent-over: #b9c9ff;
    --warn: #2e240d; --warn-line: #8a6a1f; --warn-ink: #f5dca0;
    --good: #12301f; --good-ink: #a5e0bb; --bad: #3a1715; --bad-ink: #ffb9b3; --quiet: #242a35;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; padding: 1.5rem 1rem 2.5rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
header, main, footer { max-width: 35rem; margin: 0 auto; }
header { display: flex; align-items: center; gap: .6rem; padding: 0 .25rem 1rem; color: var(--soft); font-weight: 600; }
header svg { width: 1.4rem; height: 1.4rem; flex: none; color: var(--accent); }
main {
  background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 1.75rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / .05), 0 10px 30px rgb(0 0 0 / .05);
}
footer { padding: 1rem .25rem 0; color: var(--soft); font-size: .875rem; }
h1 { margin: 0 0 .6rem; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h2 { margin: 1.75rem 0 .5rem; font-size: 1rem; line-height: 1.4; }
p { margin: 0 0 .75rem; }
a { color: var(--accent); text-underline-offset: .15em; }
small, .soft { color: var(--soft); font-size: .875rem; }
strong { font-weight: 650; }
code { font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
ul { list-style: none; margin: 0; padding: 0; }
.lead { color: var(--soft); margin-bottom: 1.25rem; }
.facts { margin: 0; border: 1px solid var(--line); border-radius: 10px; }
.facts > div { padding: .75rem 1rem; }
.facts > div + div, .rows > li + li { border-top: 1px solid var(--line); }
.facts dt { color: var(--soft); font-size: .875rem; }
.facts dd { margin: 0; }
.facts dd > strong { font-size: 1.0625rem; }
.rows { border: 1px solid var(--line); border-radius: 10px; }
.rows > li { padding: .8rem 1rem; display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; }
.rows > li > div:first-child { flex: 1 1 14rem; min-width: 0; }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem; }
.rows p { margin: 0; }
.ticks > li { padding: .2rem 0 .2rem 1.6rem; position: relative; }
.ticks > li::before {
  content: ""; position: absolute; left: .3rem; top: .62rem; width: .35rem; height: .7rem;
  border: solid var(--accent); border-width: 0 2px 2px 0; transform: rotate(42deg);
}
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 99px; font-size: .8125rem; font-weight: 600; white-space: nowrap; background: var(--quiet); color: var(--soft); }
.badge.good { background: var(--good); color: var(--good-ink); }
.badge.warn { background: var(--warn); color: var(--warn-ink); }
.badge.bad { background: var(--bad); color: var(--bad-ink); }
.note { margin: 1rem 0 0; padding: .75rem 1rem; border-radius: 10px; border: 1px solid var(--line); background: var(--quiet); }
.note.warn { background: var(--warn); border-color: var(--warn-line); color: var(--warn-ink); }
.note.good { background: var(--good); border-color: transparent; color: var(--good-ink); margin: 0 0 1rem; }
.note p:last-child { margin: 0; }
.who { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; margin: 1.25rem 0 0; color: var(--soft); }
label { display: flex; gap: .75rem; align-items: flex-start; cursor: pointer; flex: 1 1 14rem; min-width: 0; }
input[type="checkbox"] { width: 1.25rem; height: 1.25rem; margin: .15rem 0 0; flex: none; accent-color: var(--accent); }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.75rem; }
button, .button {
  font: inherit; font-weight: 600; min-height: 2.75rem; padding: .5rem 1.15rem; border-radius: 9px; cursor: pointer;
  border: 1px solid var(--edge); background: var(--card); color: var(--ink); text-decoration: none; text-align: center;
  display: inline-flex; align-items: center; justify-content: center;
}
button:hover, .button:hover { border-color: var(--accent); }
.actions button, .actions .button { flex: 1 1 9rem; }
.main { background: var(--accent); border-color: var(--accent); color: var(--accent-ink); }
.main:hover { background: var(--accent-over); }
.danger { color: var(--bad-ink); border-color: var(--bad-ink); }
.link { min-height: 0; padding: .25rem 0; border: 0; background: none; color: var(--accent); text-decoration: underline; text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
@media (max-width: 26rem) {
  body { padding: 1rem .75rem 2rem; }
  main { padding: 1.25rem 1.1rem; }
  h1 { font-size: 1.3rem; }
}
`;
