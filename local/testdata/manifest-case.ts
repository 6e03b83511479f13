/** A manifest file with its expected problems, each `line path: message`; without problems, the file is accepted. */
export interface ManifestCase {
  of: string;
  text: string;
  problems: string[];
}

const indented = (text: string) => text.trim().replaceAll(/^/gm, '  ');

/** Returns a resource of a vmcp kind; its spec starts at line 6. */
export function manifest(kind: string, spec: string): string {
  return `apiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nmetadata:\n  name: demo\nspec:\n${indented(spec)}\n`;
}

/** Returns a VirtualMCPServer for a group; the given fields start at line 7. */
export const server = (spec: string) => manifest('VirtualMCPServer', `config: { groupRef: team }\n${spec.trim()}`);

/** Returns a VirtualMCPServer without client authentication; the given fields start at line 8. */
export const openServer = (spec: string) => server(`incomingAuth: { type: anonymous }\n${spec.trim()}`);

/** Returns a VirtualMCPServer with an authorization server; the given fields start at line 14. */
export const authServer = (fields: string) =>
  server(`
incomingAuth:
  type: oidc
  resourceUrl: https://mcp.example.com/mcp
  oidcConfig:
    type: inline
    inline: { issuer: 'https://mcp.example.com' }
authServerConfig:
${indented(fields)}`);

export const accepted = (of: string, text: string): ManifestCase => ({ of, text, problems: [] });
