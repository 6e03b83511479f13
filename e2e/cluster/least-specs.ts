/** A valid spec of each kind, as short as possible. */
export const LEAST_SPECS: Record<string, object> = {
  VirtualMCPServer: { config: { groupRef: 'team' }, incomingAuth: { type: 'anonymous' } },
  MCPGroup: {},
  MCPServer: { image: 'a' },
  MCPExternalAuthConfig: {
    type: 'tokenExchange',
    tokenExchange: { tokenUrl: 'https://a.example/token', audience: 'a' },
  },
  MCPOIDCConfig: { type: 'inline', inline: { issuer: 'https://a.example' } },
};
