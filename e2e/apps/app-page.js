// Runs in the browser, inside an app: shows its server's result, and calls tools for the test by `window.callTool`.
import { App } from '@modelcontextprotocol/ext-apps';

const app = new App({ name: 'app', version: '1' }, {});
app.addEventListener('toolresult', ({ content }) => {
  document.querySelector('output').textContent = content[0].text;
});

globalThis.callTool = async (name) => {
  try {
    const { content } = await app.callServerTool({ name, arguments: {} });
    return content[0].text;
  } catch (error) {
    return error.message;
  }
};
globalThis.toolName = () => app.getHostContext().toolInfo.tool.name;

await app.connect();
