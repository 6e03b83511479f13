import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkBuilt, packAll } from '../images.ts';
import { bringUp, importImages, prepare, takeDown } from './bring-up.ts';
import { whyNoCluster } from './missing.ts';
import { defaultFolders } from './cluster-folders.ts';

const USAGE = `A real Kubernetes cluster on this machine, for tests.

  npm run cluster -- up [--nodes 2]   build it (the first time), start it, load the images; prints what to export
  npm run cluster -- images           pack dist/ and the test backends anew, and load them into the nodes
  npm run cluster -- build            build only
  npm run cluster -- down             stop it and take away what it made`;

const startedAt = Date.now();
const tell = (line: string) => {
  process.stderr.write(`[${String(Math.round((Date.now() - startedAt) / 1000)).padStart(4)}s] ${line}\n`);
};
const places = defaultFolders();
const IMAGES = join(places.images, 'vmcp.tar');

async function loadImages(): Promise<void> {
  await packAll(IMAGES);
  await importImages(places, IMAGES);
  tell('images are loaded');
}

const COMMANDS: Record<string, (nodes: number) => Promise<void>> = {
  build: () => prepare(places, tell),
  async up(nodes) {
    if (nodes > 0) checkBuilt();
    await bringUp(places, nodes, tell);
    if (nodes > 0) await loadImages();
    console.log(`export E2E_KUBECONFIG=${places.kubeconfig} KUBECONFIG=${places.kubeconfig} PATH=${places.bin}:$PATH`);
  },
  images: loadImages,
  down: () => takeDown(places),
};

const { values, positionals } = parseArgs({
  options: { nodes: { type: 'string', default: '2' } },
  allowPositionals: true,
});
const command = COMMANDS[positionals[0] ?? ''];
const why = whyNoCluster();
if (!command) {
  console.log(USAGE);
  process.exitCode = 2;
} else if (why !== undefined) {
  console.error(`no cluster can be brought up here: ${why}`);
  process.exitCode = 1;
} else {
  await command(Number(values.nodes));
}
