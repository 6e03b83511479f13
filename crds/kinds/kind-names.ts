interface KindNames {
  plural: string;
  singular: string;
  shortName: string;
}

export const DEFAULT_API_GROUP = 'vmcp.dev';
/** `kubectl get mcp` lists all kinds. */
export const CATEGORY = 'mcp';

export const KIND_NAMES = {
  VirtualMCPServer: { plural: 'virtualmcpservers', singular: 'virtualmcpserver', shortName: 'vmcp' },
  MCPGroup: { plural: 'mcpgroups', singular: 'mcpgroup', shortName: 'mcpg' },
  MCPServer: { plural: 'mcpservers', singular: 'mcpserver', shortName: 'mcps' },
  MCPExternalAuthConfig: {
    plural: 'mcpexternalauthconfigs',
    singular: 'mcpexternalauthconfig',
    shortName: 'extauth',
  },
  MCPOIDCConfig: { plural: 'mcpoidcconfigs', singular: 'mcpoidcconfig', shortName: 'mcpoidc' },
} as const satisfies Record<string, KindNames>;

export type KindName = keyof typeof KIND_NAMES;
