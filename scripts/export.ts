// npm run export -- --device ID --out FILE: the history of a device into a file. See --help.
import { runExport } from './export/run-export.ts'
import { processIo } from './tracks/command.ts'

process.exitCode = await runExport(process.argv.slice(2), processIo())
