import { WHOAMI } from './run-vmcp.ts';

const API = 'apiVersion: vmcp.dev/v1alpha1';

/** Returns a VirtualMCPServer without credentials, on a given port, with its group. */
export function server(name: string, port: number): string {
  return `${API}
kind: VirtualMCPServer
metadata: {name: ${name}}
spec:
  config: {groupRef: ${name}}
  incomingAuth:
    type: anonymous
    resourceUrl: http://127.0.0.1:${port}/mcp
---
${API}
kind: MCPGroup
metadata: {name: ${name}}
spec: {}
`;
}

/** Returns the whoami fixture as a process of vmcp, on a given port. */
export function whoami(name: string, group: string, port: number, more = ''): string {
  return `${API}
kind: MCPServer
metadata: {name: ${name}}
spec:
  groupRef: ${group}
  command: [node, ${WHOAMI}, --port, '${port}']
  transport: streamable-http
  mcpPort: ${port}
${more}`;
}

/** Returns an MCPExternalAuthConfig that adds a header with a secret value. */
export function headerAuth(name: string, secret: string, key = 'value'): string {
  return `${API}
kind: MCPExternalAuthConfig
metadata: {name: ${name}}
spec:
  type: headerInjection
  headerInjection:
    headerName: X-Key
    valueSecretRef: {name: ${secret}, key: ${key}}
`;
}

export function secret(name: string, value: string): string {
  return `apiVersion: v1
kind: Secret
metadata: {name: ${name}}
stringData: {value: ${JSON.stringify(value)}}
`;
}
