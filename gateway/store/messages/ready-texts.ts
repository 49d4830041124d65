import type { ReadyTextJson } from '#shared/wire/messages/texts.ts'
import { differences, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'

/** Texts of a new gateway. Drivers read them. */
const FIRST_TEXTS: readonly ReadyTextJson[] = [
  {
    text_id: 'keep-up',
    en: 'Please keep up with the group ahead of you.',
    de: 'Bitte zur Gruppe davor aufschließen.',
    is_urgent: false,
  },
  {
    text_id: 'let-through',
    en: 'Please let the group behind you play through.',
    de: 'Bitte die Gruppe dahinter durchspielen lassen.',
    is_urgent: false,
  },
  {
    text_id: 'cart-path',
    en: 'Please keep the cart on the path.',
    de: 'Bitte mit dem Cart auf dem Weg bleiben.',
    is_urgent: false,
  },
  {
    text_id: 'weather',
    en: 'Thunderstorm: please take shelter now.',
    de: 'Gewitter: Bitte jetzt Schutz suchen.',
    is_urgent: true,
  },
  {
    text_id: 'closing',
    en: 'The course closes soon: please return the cart.',
    de: 'Der Platz schließt bald: Bitte das Cart zurückbringen.',
    is_urgent: false,
  },
  { text_id: 'kiosk', en: 'The kiosk is open.', de: 'Der Kiosk ist geöffnet.', is_urgent: false },
]

/** Ready texts in the order of their author, without those of which an erasure left nothing. */
export function readyTexts(connection: Connection): readonly ReadyTextJson[] {
  const row = connection.get<{ texts: string }>('SELECT texts FROM ready_texts')
  if (row === undefined) return FIRST_TEXTS
  // written by this program only
  const texts = JSON.parse(row.texts) as ReadyTextJson[]
  return texts.filter(({ text_id, en, de }) => text_id !== '' && en !== '' && de !== '')
}

export const saveReadyTexts = write(
  (connection: Connection, texts: readonly ReadyTextJson[]): null => {
    connection.run('INSERT OR REPLACE INTO ready_texts (only, texts) VALUES (1, ?)', JSON.stringify(texts))
    return null
  },
  {
    audit: (connection) => {
      const before = { texts: readyTexts(connection) }
      return () => {
        const [old, now] = differences(before, { texts: readyTexts(connection) })
        return now === null ? [] : [{ action: 'texts.updated', target: 'texts', before: old, after: now }]
      }
    },
  },
)
