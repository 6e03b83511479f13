import { MCPExternalAuthConfig, MCPExternalAuthConfigSpec } from './mcp-external-auth-config.ts';
import { MCPGroup, MCPGroupSpec } from './mcp-group.ts';
import { MCPOIDCConfig, MCPOIDCConfigSpec } from './mcp-oidc-config.ts';
import { MCPServer, MCPServerSpec } from './mcp-server.ts';
import { VirtualMCPServer, VirtualMCPServerSpec } from './virtual-mcp-server.ts';

export const OBJECTS = { VirtualMCPServer, MCPGroup, MCPServer, MCPExternalAuthConfig, MCPOIDCConfig };

export const SPECS = {
  VirtualMCPServer: VirtualMCPServerSpec,
  MCPGroup: MCPGroupSpec,
  MCPServer: MCPServerSpec,
  MCPExternalAuthConfig: MCPExternalAuthConfigSpec,
  MCPOIDCConfig: MCPOIDCConfigSpec,
};
