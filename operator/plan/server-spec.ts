import type { VirtualMCPServer } from '#crds/kinds/index';

/** The spec of one endpoint: that of a VirtualMCPServer, and fields that only an MCPServer by itself has. */
export type ServerSpec = VirtualMCPServer['spec'] & {
  /** Another public port. */
  port?: number | undefined;
  /** Path before /mcp, without a slash at its end. */
  endpointPrefix?: string | undefined;
  /** Transports of its endpoint besides streamable HTTP. */
  proxyMode?: 'streamable-http' | 'sse' | undefined;
};
