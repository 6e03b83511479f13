const GRANTS = ['authorization_code', 'refresh_token'];

/** These requests were observed. */
export const REGISTRATIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'Claude Code': {
    client_name: 'vmcp doctor (as Claude Code)',
    redirect_uris: ['http://localhost:54212/callback'],
    grant_types: GRANTS,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  Codex: {
    client_name: 'vmcp doctor (as Codex)',
    redirect_uris: ['http://127.0.0.1:54213/callback'],
    grant_types: GRANTS,
    response_types: ['code'],
    application_type: 'native',
  },
  'VS Code': {
    client_name: 'vmcp doctor (as VS Code)',
    client_uri: 'https://code.visualstudio.com',
    redirect_uris: [
      'https://insiders.vscode.dev/redirect',
      'https://vscode.dev/redirect',
      'http://127.0.0.1/',
      'http://127.0.0.1:33418/',
    ],
    grant_types: [...GRANTS, 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  Cursor: {
    client_name: 'vmcp doctor (as Cursor)',
    redirect_uris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
    grant_types: GRANTS,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
};

export const TRIED = 'Claude Code';
export const TRIED_REDIRECT = 'http://localhost:54212/callback';
