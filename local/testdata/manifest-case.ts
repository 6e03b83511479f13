/** One file as somebody may write it, and what is said of it: `line path: message` each; none where it is accepted. */
export interface ManifestCase {
  of: string;
  text: string;
  problems: string[];
}

const indented = (text: string) => text.trim().replaceAll(/^/gm, '  ');

/** A resource of one of our kinds; its spec starts at line 6. */
export function manifest(kind: string, spec: string): string {
  return `apiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nmetadata:\n  name: demo\nspec:\n${indented(spec)}\n`;
}

/** A VirtualMCPServer for a group; what is given starts at line 7. */
export const server = (spec: string) => manifest('VirtualMCPServer', `config: { groupRef: team }\n${spec.trim()}`);

/** A VirtualMCPServer with boundary 1 off; what is given starts at line 8. */
export const openServer = (spec: string) => server(`incomingAuth: { type: anonymous }\n${spec.trim()}`);

/** A VirtualMCPServer with an authorization server whose fields are given, from line 14 on. */
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
