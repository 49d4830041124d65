// npm run build:app: builds the app at /app/, whether its sources changed or not.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setUp } from './setup.mjs'
import { buildDashboard } from './setup-dashboard.mjs'
import { SetupError } from './setup-steps.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

try {
  await buildDashboard(root, await setUp(root))
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  process.stderr.write(`cartbarn: ${error.message}\n`)
  process.exitCode = error.exitCode
}
