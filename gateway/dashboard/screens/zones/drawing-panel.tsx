import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { CORNERS_MAX, type Place } from '#dashboard/map/zone-shape.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { Button } from '#dashboard/ui/button.tsx'

/** Panel shown while the user taps the corners of a new area. */
export function DrawingPanel({ editor, corners }: { editor: ZoneEditor; corners: readonly Place[] }) {
  const texts = zonesTexts()
  return (
    <>
      <p>{texts.drawHow}</p>
      <p role="status">
        <strong>{texts.corners(corners.length)}</strong>
      </p>
      <Button
        text={texts.close}
        is="main wide"
        disabled={corners.length < 3 || corners.length > CORNERS_MAX}
        onClick={() => editor.close({ name: texts.unnamed, type: 'stop' })}
      />
      <Button
        text={texts.lastCorner}
        is="wide"
        disabled={corners.length === 0}
        onClick={() => {
          editor.drawing.value = corners.slice(0, -1)
        }}
      />
      <Button
        text={texts.cancel}
        is="wide"
        onClick={() => {
          editor.drawing.value = null
        }}
      />
    </>
  )
}
