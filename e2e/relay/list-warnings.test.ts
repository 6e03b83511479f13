import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';
import { warningsAt } from './warnings-at.ts';

afterEach(closeAll);

type Aggregation = NonNullable<RunConfigDocument['aggregation']>;

/** Starts two SDK servers with the same tools, prompts and resources, an SDK client, and a reader of the warnings of `/status`. */
async function twins(aggregation: Aggregation) {
  const [one, two] = await Promise.all([startSdkServer('new'), startSdkServer('new')]);
  for (const server of [one, two]) closing({ close: () => server.stop() });
  const backends = { one: one.url, two: two.url };
  const gateway = await gatewayTo(backends, { aggregation });
  const client = await connectOldClient(new URL(gateway.url));
  closing(client);
  return {
    client,
    reconfigure: (next: Aggregation) => gateway.reconfigure(configTo(backends, { aggregation: next })),
    ...warningsAt(gateway),
  };
}

describe('the warnings of /status', () => {
  it('name prompts that collide under manual, until overrides of prompts rename them', async () => {
    const { client, warned, notWarned, reconfigure } = await twins({ conflict_resolution: 'manual' });
    await warned(/^prompts greet: greet of one and greet of two would have the same name/);
    expect((await client.listPrompts()).prompts).toEqual([]);
    const overrides = { greet: { name: 'greet_two', description: 'Greets from two' } };
    await reconfigure({ conflict_resolution: 'manual', prompts: [{ workload: 'two', overrides }] });
    await until('both prompts', async () => (await client.listPrompts()).prompts.length === 2);
    expect((await client.listPrompts()).prompts).toMatchObject([
      { name: 'greet', description: 'Greets' },
      { name: 'greet_two', description: 'Greets from two' },
    ]);
    const { messages } = await client.getPrompt({ name: 'greet_two', arguments: { name: 'Ada' } });
    expect(messages).toMatchObject([{ content: { text: 'Hello Ada' } }]);
    await notWarned(/^prompts greet/);
  });

  it('name resources and templates with a URI of another backend', async () => {
    const { client, warned } = await twins({});
    await warned(
      /^resources: one and two have the same URIs, and those of two are not advertised: sdk:\/\/one, sdk:\/\/two;/,
    );
    await warned(/^templates: one and two have the same URIs.*sdk:\/\/items\/\{id\}/);
    expect((await client.listResources()).resources).toHaveLength(2);
  });

  it('name misspelt names in filters and overrides, once the backend has listed', async () => {
    const { warned, notWarned, reconfigure } = await twins({
      tools: [{ workload: 'one', filter: ['ecko', 'slow'] }],
      prompts: [{ workload: 'two', filter: ['great'] }],
    });
    await warned(/^aggregation.tools filter of one .*"ecko" \(did you mean "echo"\?\); correct or remove it$/);
    await warned(/^aggregation.prompts filter of two .*"great" \(did you mean "greet"\?\)/);
    await reconfigure({ tools: [{ workload: 'one', filter: ['echo', 'slow'] }] });
    await notWarned(/^aggregation/);
  });

  it('name misspelt names in policies, by the names that each policy set uses', async () => {
    const forbid = (...ids: string[]) => ids.map((id) => `forbid(principal, action, resource == ${id});`);
    const server = await startSdkServer('new');
    closing({ close: () => server.stop() });
    const named = (attribute: string, name: string) =>
      `forbid(principal, action, resource) when { ["${name}"].contains(resource.${attribute}) };`;
    const own = [
      ...forbid('Tool::"ecko"', 'Tool::"pol_echo"', 'Prompt::"great"', 'Resource::"sdk://oen"'),
      named('original_name', 'say'),
      named('original_name', 'echo'),
    ];
    const listed = forbid('Tool::"echo"', 'Prompt::"greet"', 'Resource::"sdk://one"', 'Resource::"sdk://items/7"');
    const configOf = (policies: string[], ofServer: string[]) =>
      configTo(
        { pol: { url: server.url, tools_override: { count: { name: 'say' } }, authz: { policies } } },
        { authz: { policies: ofServer } },
      );
    const ofServer = [
      ...forbid('Tool::"pol_ecko"', 'Tool::"pol_echo"'),
      named('name', 'echo'),
      named('original_name', 'pol_echo'),
    ];
    const gateway = closing(await serveGateway(configOf([...own, ...listed], ofServer)));
    const { warned, notWarned } = warningsAt(gateway);
    await warned(
      /^authzConfig of pol names no tool that is listed: "ecko" in policies\[0\] \(did you mean "echo"\?\), "pol_echo" in policies\[1\][^,]*; correct or remove it$/,
    );
    await warned(/^authzConfig of pol names no prompt that is listed: "great" .*"greet"\?\); correct or remove it$/);
    await warned(/^authzConfig of pol names no resource that is listed: "sdk:\/\/oen" [^,]*; correct or remove it$/);
    await warned(
      /^incomingAuth.authzConfig names no tool that is listed: "pol_ecko" in policies\[0\] \(did you mean "pol_echo"\?\); correct or remove it$/,
    );
    const original = 'names no original name of a tool, prompt or resource that is listed';
    await warned(new RegExp(`^authzConfig of pol ${original}: "say" in policies.4.[^,]*; correct or remove it$`));
    await warned(
      /^incomingAuth.authzConfig names no tool, prompt or resource .* "echo" .* \(did you mean "pol_echo"\?\)/,
    );
    await warned(new RegExp(`^incomingAuth.authzConfig ${original}: "pol_echo" .* \\(did you mean "echo"\\?\\)`));
    await gateway.reconfigure(configOf(listed, [...forbid('Tool::"pol_echo"'), named('original_name', 'echo')]));
    await notWarned(/names no/);
  });

  it('name an attribute that is a claim without its prefix', async () => {
    const policies = ['forbid(principal, action, resource) when { principal has role };'];
    const server = await startSdkServer('new');
    closing({ close: () => server.stop() });
    const gateway = await gatewayTo({ pol: server.url }, { authz: { policies } });
    await warningsAt(gateway).warned(
      /^incomingAuth.authzConfig: policies\[0\]: `principal has role` is never true \(did you mean `claim_role`\?\)$/,
    );
  });
});
