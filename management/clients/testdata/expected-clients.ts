import { expect } from '@jest/globals';

/** Configuration and skill folders that tests expect of a client. */
interface ExpectedClient {
  id: string;
  /** Configuration file on Linux, below the home folder. */
  file: string;
  /** The same with the variables of `MOVED`; absent: none of them moves it. */
  moved?: string;
  /** Files on the other platforms; absent: below the home folder as on Linux. `win32` is below %APPDATA%. */
  elsewhere?: { darwin: string; win32: string };
  /** Content of a file with the one entry `x` for `url`. */
  content: (url: string) => Record<string, unknown>;
  /** Skill folders: below the home folder on Linux, and below a project. */
  skills: readonly [user: string, project: string];
}

/** Environment in which variables move the files of clients. */
export const MOVED = { CLAUDE_CONFIG_DIR: '/c', CODEX_HOME: '/x', XDG_CONFIG_HOME: '/g', APPDATA: '/none' };

/** One row for each client, in the order of `CLIENTS`. */
export const EXPECTED_CLIENTS: readonly ExpectedClient[] = [
  {
    id: 'claude-code',
    file: '.claude.json',
    moved: '/c/.claude.json',
    content: (url) => ({ mcpServers: { x: { type: 'http', url } } }),
    skills: ['.claude/skills', '.claude/skills'],
  },
  {
    id: 'cursor',
    file: '.cursor/mcp.json',
    content: (url) => ({ mcpServers: { x: { type: 'http', url } } }),
    skills: ['.cursor/skills', '.agents/skills'],
  },
  {
    id: 'vscode',
    file: '.config/Code/User/mcp.json',
    moved: '/g/Code/User/mcp.json',
    elsewhere: { darwin: 'Library/Application Support/Code/User/mcp.json', win32: 'Code/User/mcp.json' },
    content: (url) => ({ servers: { x: { type: 'http', url } } }),
    skills: ['.copilot/skills', '.agents/skills'],
  },
  {
    id: 'codex',
    file: '.codex/config.toml',
    moved: '/x/config.toml',
    content: (url) => ({ mcp_servers: { x: { url } } }),
    skills: ['.codex/skills', '.agents/skills'],
  },
  {
    id: 'gemini',
    file: '.gemini/settings.json',
    content: (url) => ({ mcpServers: { x: { httpUrl: url } } }),
    skills: ['.gemini/skills', '.agents/skills'],
  },
  {
    id: 'windsurf',
    file: '.codeium/windsurf/mcp_config.json',
    content: (url) => ({ mcpServers: { x: { serverUrl: url } } }),
    skills: ['.codeium/windsurf/skills', '.windsurf/skills'],
  },
  {
    id: 'goose',
    file: '.config/goose/config.yaml',
    moved: '/g/goose/config.yaml',
    elsewhere: { darwin: '.config/goose/config.yaml', win32: 'Block/goose/config/config.yaml' },
    content: (uri) => ({ extensions: { x: expect.objectContaining({ type: 'streamable_http', uri, name: 'x' }) } }),
    skills: ['.config/goose/skills', '.goose/skills'],
  },
  {
    id: 'zed',
    file: '.config/zed/settings.json',
    moved: '/g/zed/settings.json',
    elsewhere: { darwin: '.config/zed/settings.json', win32: 'Zed/settings.json' },
    content: (url) => ({ context_servers: { x: { url } } }),
    skills: ['.agents/skills', '.agents/skills'],
  },
];
