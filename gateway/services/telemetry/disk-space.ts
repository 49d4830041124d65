import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { DATABASE, DATABASE_LOG } from '#store/db/files.ts'

/** Size at which the log of the database stays; counted with it even while shorter. See `WriterConnection`. */
const LOG_BYTES = 16 << 20

export interface FolderSpace {
  /** Bytes of all files except the database itself. */
  otherBytes: number
  volumeBytes: number
  volumeFreeBytes: number
}

export async function folderSpace(dataDir: string): Promise<FolderSpace> {
  const { bsize, blocks, bavail } = await statfs(dataDir)
  let otherBytes = LOG_BYTES
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === DATABASE) continue
    const bytes = await sizeOf(join(entry.parentPath, entry.name))
    otherBytes += entry.name === DATABASE_LOG ? Math.max(0, bytes - LOG_BYTES) : bytes
  }
  return { otherBytes, volumeBytes: blocks * bsize, volumeFreeBytes: bavail * bsize }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch {
    // deleted since the folder was read
    return 0
  }
}
