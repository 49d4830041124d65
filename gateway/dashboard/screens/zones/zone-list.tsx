import { useState } from 'preact/hooks'
import type { ZoneJson } from '#dashboard/map/zone-draft.ts'
import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { SearchField } from '#dashboard/ui/fields/search-field.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { useAddress } from '#dashboard/ui/use-address.ts'
import { Conflict } from './conflict.tsx'
import { ProposeButton } from './propose-button.tsx'
import { SavePanel } from './save-panel.tsx'
import { ZoneHistory } from './zone-history.tsx'

/** Number of zones from which on they can be searched. */
const MANY = 8

interface ZoneListProps {
  editor: ZoneEditor
  isAdmin: boolean
  onChoose: (id: string) => void
  onCircle: () => void
  /** False while the position of the course is unknown: zones drawn then would lie in the Atlantic. */
  canDraw: boolean
}

export function ZoneList({ editor, isAdmin, onChoose, onCircle, canDraw }: ZoneListProps) {
  const texts = zonesTexts()
  const [message, setMessage] = useState<string | null>(null)
  const [isAsking, setAsking] = useState(false)
  const [areEarlier, setEarlier] = useState(false)
  const [search, setSearch] = useAddress('search')
  const wanted = search.trim().toLowerCase()
  const shown = editor.zones.filter((zone) => `${zone.properties.name} ${wordsOf(zone)}`.toLowerCase().includes(wanted))
  return (
    <>
      <p>{isAdmin ? texts.whatAdmin : texts.what}</p>
      {isAdmin && <Conflict editor={editor} />}
      {isAdmin && <SavePanel editor={editor} />}
      {isAdmin && (
        <div class="halves">
          <Button
            text={texts.area}
            disabled={!canDraw}
            onClick={() => {
              editor.drawing.value = []
            }}
          />
          <Button text={texts.circle} disabled={!canDraw} onClick={onCircle} />
          <ProposeButton editor={editor} onMessage={setMessage} />
          <Button text={texts.undo} disabled={!editor.canUndo} onClick={() => editor.undo()} />
          <Button text={texts.earlier} onClick={() => setEarlier(true)} />
          {editor.isChanged && <Button text={texts.discard} onClick={() => setAsking(true)} />}
        </div>
      )}
      {message !== null && <p role="status">{message}</p>}
      {isAsking && (
        <Question
          title={texts.askDiscard}
          action={texts.discard}
          isDanger
          onCancel={() => setAsking(false)}
          onAnswer={() => {
            editor.discard()
            setAsking(false)
          }}
        />
      )}
      {areEarlier && <ZoneHistory editor={editor} onDone={() => setEarlier(false)} />}
      {editor.current.value === null ? <NotKnown /> : <h2>{texts.count(editor.zones.length)}</h2>}
      {editor.zones.length > MANY && <SearchField name={texts.search} value={search} onSearch={setSearch} />}
      <ul class="stack zone-list" aria-label={texts.list}>
        {shown.map((zone) => (
          <li key={zone.id}>
            <button type="button" onClick={() => onChoose(zone.id)}>
              <b class="cut" dir="auto">
                {zone.properties.name}
              </b>
              <span class="small">{wordsOf(zone)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

/** "Alert, hole 3, off". */
function wordsOf({ properties: { type, hole, enabled, switched } }: ZoneJson): string {
  const texts = zonesTexts()
  return [
    texts.types[type],
    ...(hole === undefined || type === 'hole' ? [] : [texts.hole(hole)]),
    ...(enabled ? [] : [texts.isOff]),
    ...(switched === null ? [] : [texts.isSwitched]),
  ].join(', ')
}
