import { toIso } from '#shared/time.ts'
import type { FoundBackup } from '#shared/wire/backups.ts'
import { inWords } from '#store/backups/backup-fault.ts'
import { BackupSet } from '#store/backups/backup-set.ts'
import type { BackupPlace } from '#store/backups/place.ts'
import { knownSchema } from '#store/migrate.ts'

/** Lists the backups of a target, newest first, by their manifests. Throws a `BackupFault`. */
export async function findBackups(place: BackupPlace, passphrase: string | undefined): Promise<FoundBackup[]> {
  try {
    await place.open()
    const set = await BackupSet.open(place, passphrase)
    const found: FoundBackup[] = []
    for (const snapshot of (await set.snapshots()).reverse()) {
      const { number, atMs, program, schema, tables, lacks } = await set.readManifest(snapshot)
      const rowsOf = (table: string) => tables.find(({ name }) => name === table)?.rows ?? 0
      found.push({
        number,
        at: toIso(atMs),
        program,
        schema,
        is_newer: schema > knownSchema(),
        is_encrypted: set.isEncrypted,
        rows: tables.reduce((sum, { rows }) => sum + rows, 0),
        bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
        devices: rowsOf('device'),
        users: rowsOf('user'),
        lacks,
      })
    }
    return found
  } catch (error) {
    throw inWords(error, place.shown)
  } finally {
    await place.close()
  }
}
