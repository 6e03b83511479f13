import type { VirtualMCPServer } from '#crds/kinds/index';

/** What a runtime is to serve: a VirtualMCPServer's own spec, and what only an MCPServer by itself has. */
export type ServerSpec = VirtualMCPServer['spec'] & {
  /** Another public port. */
  port?: number | undefined;
  /** Path before /mcp, without a slash at its end. */
  endpointPrefix?: string | undefined;
  /** What its endpoint speaks besides streamable HTTP. */
  proxyMode?: 'streamable-http' | 'sse' | undefined;
};
