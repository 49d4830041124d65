import { EXIT, type RunCommand } from '#scripts/cli/command.ts'
import { readVersion } from '#shared/version.ts'

type ProductCommand = readonly [name: string, summary: string, load: () => Promise<RunCommand>]

/** Commands of `cartbarn COMMAND`. A command is loaded when it is called. */
export const COMMANDS: readonly ProductCommand[] = [
  ['run', 'start the gateway', async () => (await import('./run.ts')).run],
  ['hub', 'start the hub, or manage its sites and its admin key', async () => (await import('./hub.ts')).hub],
  [
    'import',
    'add the tracks of files to the history of a device',
    async () => (await import('./import/run-import.ts')).runImport,
  ],
  [
    'export',
    'write the history of a device into a file',
    async () => (await import('./export/run-export.ts')).runExport,
  ],
  ['devices', 'register the devices of a CSV file', async () => (await import('./devices/devices.ts')).devices],
  [
    'sync-export',
    'write the data that the hub lacks into a file',
    async () => (await import('./sync-file/run-export.ts')).runSyncExport,
  ],
  [
    'sync-import',
    'import a file of sync-export into the hub',
    async () => (await import('./sync-file/run-import.ts')).runSyncImport,
  ],
  [
    'simulate',
    'drive a simulated fleet against a gateway',
    async () => (await import('./simulate/simulate.ts')).simulate,
  ],
  ['demo', 'start the gateway with a simulated course', async () => (await import('./demo.ts')).demo],
  [
    'admin-key',
    'replace the key of the admin while the gateway is stopped',
    async () => (await import('./admin-key.ts')).adminKey,
  ],
  [
    'backup',
    'copy the database into a file or a folder while the gateway runs',
    async () => (await import('./backup.ts')).backup,
  ],
  [
    'restore',
    'put the database of a backup in the place of the one that is there',
    async () => (await import('./restore.ts')).restore,
  ],
  [
    'doctor',
    'find faults of the gateway and its host, with the command that helps',
    async () => (await import('./doctor.ts')).doctor,
  ],
  ['health', 'say whether the gateway is well, for health checks', async () => (await import('./health.ts')).health],
  [
    'repair',
    'make a new database from what can be read of a damaged one',
    async () => (await import('./repair.ts')).repair,
  ],
  [
    'tls',
    'set up encryption: the certificate authority of this host, and its state',
    async () => (await import('./tls.ts')).tls,
  ],
  ['upgrade', 'check a file of a release, and install it', async () => (await import('./upgrade.ts')).upgrade],
  [
    'swap-back',
    'undo an upgrade whose program does not run; systemd calls it',
    async () => (await import('./swap-back.ts')).swapBack,
  ],
  ['new-site', 'make a copied card the gateway of another course', async () => (await import('./new-site.ts')).newSite],
  ['version', 'print the version', async () => printVersion],
]

const printVersion: RunCommand = async (_argv, io) => {
  io.stdout.write(`${readVersion()}\n`)
  return EXIT.ok
}
