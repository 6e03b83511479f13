/** A spec of each kind that is complete, and as short as it can be. */
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
