// The client that the suite starts for a scenario: asks the running test to drive a gateway with the suite's server as its backend.
import { argv, env, exit } from 'node:process';

const [driver = '', url = ''] = argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = env;
const response = await fetch(driver, {
  method: 'POST',
  body: JSON.stringify({ scenario, url, context: JSON.parse(context) as unknown }),
});
if (!response.ok) console.error(await response.text());
exit(response.ok ? 0 : 1);
