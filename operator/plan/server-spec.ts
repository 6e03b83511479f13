import type { VirtualMCPServer } from '#crds/kinds/index';

/** The spec of a runtime: a VirtualMCPServer's own spec, and the settings that only a single MCPServer has. */
export type ServerSpec = VirtualMCPServer['spec'] & {
  port?: number | undefined;
  /** Path before /mcp, without a trailing slash. */
  endpointPrefix?: string | undefined;
  /** Protocol of its endpoint besides streamable HTTP. */
  proxyMode?: 'streamable-http' | 'sse' | undefined;
};
