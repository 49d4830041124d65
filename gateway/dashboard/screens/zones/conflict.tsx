import { differencesOf } from '#dashboard/map/zone-draft.ts'
import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { Button } from '#dashboard/ui/button.tsx'

/** Conflict of two users who edit one set: the changes of both, and a choice between them. */
export function Conflict({ editor }: { editor: ZoneEditor }) {
  const texts = zonesTexts()
  const { theirs } = editor
  if (theirs === null) return null
  const differences = differencesOf(editor.base, editor.zones, theirs.zones.features)
  return (
    <section class="stack box zone-conflict" role="alert">
      <h2>{texts.conflict}</h2>
      <ul class="bullets">
        {differences.map(({ id, name, mine, theirs: other }) => (
          <li key={id} dir="auto">
            <b>{name}</b>:{' '}
            {[
              ...(mine === null ? [] : [`${texts.mine} ${texts.fates[mine]}`]),
              ...(other === null ? [] : [`${texts.theirs} ${texts.fates[other]}`]),
            ].join(', ')}
          </li>
        ))}
      </ul>
      <p class="small">{texts.keepMeans}</p>
      <div class="row">
        <Button text={texts.takeTheirs} onClick={() => editor.discard()} />
        <Button text={texts.keepMine} is="main" onClick={() => editor.keepMine()} />
      </div>
    </section>
  )
}
