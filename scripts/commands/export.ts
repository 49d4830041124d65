// npm run export -- --device ID --out FILE: the history of a device into a file. See --help.

import { processIo } from '#scripts/cli/command.ts'
import { runExport } from './export/run-export.ts'

process.exitCode = await runExport(process.argv.slice(2), processIo())
