import { WHOAMI } from './run-vmcp.ts';

const API = 'apiVersion: vmcp.dev/v1alpha1';

/** A VirtualMCPServer without credentials, at a port of its own, with its group. */
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

/** The whoami fixture as a process of vmcp's, at a port of its own. */
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

/** A header with a secret value on the way to a backend. */
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
