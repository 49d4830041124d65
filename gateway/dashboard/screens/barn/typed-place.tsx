import { useState } from 'preact/hooks'
import { readCoordinates } from '#dashboard/live/coordinates.ts'
import { toX, toY } from '#dashboard/map/mercator.ts'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'

/** Chooses a place by its coordinates, as the map of a phone copies them. */
export function TypedPlace({ onPlace }: { onPlace: (place: [x: number, y: number]) => void }) {
  const texts = barnTexts()
  const [text, setText] = useState('')
  const [isWrong, setWrong] = useState(false)
  const go = (event: Event) => {
    event.preventDefault()
    const place = readCoordinates(text)
    setWrong(place === null)
    if (place !== null) onPlace([toX(place.long), toY(place.lat)])
  }
  return (
    <form class="stack" onSubmit={go}>
      <TextField name={texts.coordinates} hint={texts.coordinatesHint} max={80} value={text} onInput={setText} />
      <Fault text={isWrong ? texts.noCoordinates : null} />
      <Button text={texts.show} type="submit" is="wide" disabled={text.trim() === ''} />
    </form>
  )
}
