import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { z } from 'zod'

const packageSchema = z.object({ version: z.string() })

/**
 * Returns an empty database of PGlite, created once for each version and user: creating one takes seconds, loading it
 * less.
 */
export async function pgliteTemplate(): Promise<Blob> {
  const dist = dirname(fileURLToPath(import.meta.resolve('@electric-sql/pglite')))
  const content: unknown = JSON.parse(readFileSync(join(dist, '../package.json'), 'utf8'))
  const { version } = packageSchema.parse(content)
  const path = join(tmpdir(), `cartbarn-pglite-${version}-${process.getuid?.() ?? 'user'}.tar`)
  if (!existsSync(path)) {
    const db = await PGlite.create({ dataDir: 'memory://' })
    const dump = await db.dumpDataDir('none')
    await db.close()
    // another process may be creating it at the same time
    const draft = `${path}-${process.pid}`
    writeFileSync(draft, Buffer.from(await dump.arrayBuffer()))
    renameSync(draft, path)
  }
  // not openAsBlob: another process may replace the file before this one is read
  return new Blob([readFileSync(path)])
}
