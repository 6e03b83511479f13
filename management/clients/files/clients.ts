import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Home {
  platform: NodeJS.Platform;
  path: string;
  environment: NodeJS.ProcessEnv;
}

export function homeOf(environment: NodeJS.ProcessEnv): Home {
  return { platform: process.platform, path: environment.HOME ?? homedir(), environment };
}

/** Format of a configuration file. `jsonc`: JSON with comments and trailing commas. */
export type Format = 'json' | 'jsonc' | 'toml' | 'yaml';

export interface McpClient {
  id: string;
  name: string;
  format: Format;
  file: (home: Home) => string;
  /** Table with an entry for each server, by name. */
  table: string;
  entry: (name: string, url: string) => Record<string, unknown>;
  url: string;
  /** Command of the client itself with the same effect. */
  command?: (name: string, url: string) => string;
  /** Next step of the user. */
  after: string;
  /** Folders in which it looks for skills, each in a subfolder of its name. */
  skills: {
    user: (home: Home) => string;
    /** Below the root of a project. */
    project: string;
  };
}

/** Returns the configuration folder: %APPDATA%, ~/Library/Application Support, or the XDG folder. */
function configFolder({ platform, path, environment }: Home): string {
  if (platform === 'win32') return environment.APPDATA ?? join(path, 'AppData', 'Roaming');
  if (platform === 'darwin') return join(path, 'Library', 'Application Support');
  return xdgFolder({ platform, path, environment });
}

function xdgFolder({ path, environment }: Home): string {
  return environment.XDG_CONFIG_HOME ?? join(path, '.config');
}

const codexFolder = ({ path, environment }: Home) => environment.CODEX_HOME ?? join(path, '.codex');

const SHARED_SKILLS = '.agents/skills';

const typedHttp = (_name: string, url: string) => ({ type: 'http', url });

/** All clients. Commands, the management API, the reference page and the tests derive from this table. */
export const CLIENTS: readonly McpClient[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    format: 'json',
    file: ({ path, environment }) => join(environment.CLAUDE_CONFIG_DIR ?? path, '.claude.json'),
    table: 'mcpServers',
    entry: typedHttp,
    url: 'url',
    command: (name, url) => `claude mcp add --transport http ${name} ${url}`,
    after: 'start claude; where the endpoint asks for a login, type /mcp and choose it',
    skills: {
      user: ({ path, environment }) => join(environment.CLAUDE_CONFIG_DIR ?? join(path, '.claude'), 'skills'),
      project: '.claude/skills',
    },
  },
  {
    id: 'cursor',
    name: 'Cursor',
    format: 'jsonc',
    file: ({ path }) => join(path, '.cursor', 'mcp.json'),
    table: 'mcpServers',
    entry: typedHttp,
    url: 'url',
    after: 'open Settings, MCP; where the endpoint asks for a login, log in there',
    skills: { user: ({ path }) => join(path, '.cursor', 'skills'), project: SHARED_SKILLS },
  },
  {
    id: 'vscode',
    name: 'VS Code',
    format: 'jsonc',
    file: (home) => join(configFolder(home), 'Code', 'User', 'mcp.json'),
    table: 'servers',
    entry: typedHttp,
    url: 'url',
    after: 'run "MCP: List Servers" and start it; where the endpoint asks for a login, that opens',
    skills: { user: ({ path }) => join(path, '.copilot', 'skills'), project: SHARED_SKILLS },
  },
  {
    id: 'codex',
    name: 'Codex',
    format: 'toml',
    file: (home) => join(codexFolder(home), 'config.toml'),
    table: 'mcp_servers',
    entry: (_name, url) => ({ url }),
    url: 'url',
    after: 'start codex; where the endpoint asks for a login, run "codex mcp login" with its name first',
    skills: { user: (home) => join(codexFolder(home), 'skills'), project: SHARED_SKILLS },
  },
  {
    id: 'gemini',
    name: 'Gemini CLI',
    format: 'jsonc',
    file: ({ path }) => join(path, '.gemini', 'settings.json'),
    table: 'mcpServers',
    entry: (_name, url) => ({ httpUrl: url }),
    url: 'httpUrl',
    after: 'start gemini; where the endpoint asks for a login, type /mcp auth with its name',
    skills: { user: ({ path }) => join(path, '.gemini', 'skills'), project: SHARED_SKILLS },
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    format: 'jsonc',
    file: ({ path }) => join(path, '.codeium', 'windsurf', 'mcp_config.json'),
    table: 'mcpServers',
    entry: (_name, url) => ({ serverUrl: url }),
    url: 'serverUrl',
    after: 'refresh the list of MCP servers; where the endpoint asks for a login, that opens',
    skills: { user: ({ path }) => join(path, '.codeium', 'windsurf', 'skills'), project: '.windsurf/skills' },
  },
  {
    id: 'goose',
    name: 'Goose',
    format: 'yaml',
    file: (home) =>
      home.platform === 'win32'
        ? join(configFolder(home), 'Block', 'goose', 'config', 'config.yaml')
        : join(xdgFolder(home), 'goose', 'config.yaml'),
    table: 'extensions',
    entry: (name, url) => ({
      enabled: true,
      type: 'streamable_http',
      name,
      description: 'MCP servers behind vmcp',
      uri: url,
      timeout: 300,
    }),
    url: 'uri',
    after: 'start goose; where the endpoint asks for a login, that opens at the first use',
    skills: { user: (home) => join(xdgFolder(home), 'goose', 'skills'), project: '.goose/skills' },
  },
  {
    id: 'zed',
    name: 'Zed',
    format: 'jsonc',
    file: (home) =>
      join(
        home.platform === 'win32' ? configFolder(home) : xdgFolder(home),
        home.platform === 'win32' ? 'Zed' : 'zed',
        'settings.json',
      ),
    table: 'context_servers',
    entry: (_name, url) => ({ url }),
    url: 'url',
    after: 'open the agent panel; where the endpoint asks for a login, that opens',
    skills: { user: ({ path }) => join(path, SHARED_SKILLS), project: SHARED_SKILLS },
  },
];

export const findClient = (id: string): McpClient | undefined => CLIENTS.find((client) => client.id === id);
