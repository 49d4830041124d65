// npm run sync:export: what the head office lacks into a file to be carried there, and its receipt back. See --help.

import { processIo } from '#scripts/cli/command.ts'
import { runSyncExport } from './sync-file/run-export.ts'

process.exitCode = await runSyncExport(process.argv.slice(2), processIo())
