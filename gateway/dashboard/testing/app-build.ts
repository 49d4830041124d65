import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SET_UP = new URL('../../../scripts/setup-dashboard.mjs', import.meta.url)

/** Builds the app of this checkout if its sources have changed; returns the folder. Throws without a build. */
export async function buildApp(): Promise<string> {
  // it has no types, because it runs before dependencies are installed
  const { setUpDashboard } = await import(SET_UP.href)
  await setUpDashboard(ROOT, process.execPath)
  const folder = join(ROOT, 'dist/dashboard')
  if (!existsSync(join(folder, 'index.html'))) throw new Error('the app was not built, see above')
  return folder
}
