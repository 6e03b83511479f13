export { MCPExternalAuthConfig, MCPExternalAuthConfigSpec } from './mcp-external-auth-config.ts';
export { MCPGroup, MCPGroupSpec } from './mcp-group.ts';
export { MCPOIDCConfig, MCPOIDCConfigSpec } from './mcp-oidc-config.ts';
export { MCPServer, MCPServerSpec, transportOf } from './mcp-server.ts';
export { specForOneMachine, VirtualMCPServer, VirtualMCPServerSpec } from './virtual-mcp-server.ts';
export { OBJECTS, SPECS } from './schemas.ts';
export { VERSION } from './resource.ts';
export { resourceUrlOf } from '../parts/incoming-auth.ts';
export { CATEGORY, DEFAULT_API_GROUP, KIND_NAMES, type KindName } from './kind-names.ts';
