import { useState } from 'preact/hooks'
import { readCoordinates } from '#dashboard/live/coordinates.ts'
import { barnTexts } from '#dashboard/texts/barn.ts'
import { courseTexts } from '#dashboard/texts/course.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { Course } from '#shared/course/course.ts'
import { readCourseFile } from '../course/drawing-panel.tsx'
import { FileChoice } from '../course/file-choice.tsx'
import { StepForm } from './step-form.tsx'

/** Third step: the position of the course, by coordinates or a course map; without one the first cart shows it. */
export function PlaceStep({ onDone, onBack }: { onDone: () => void; onBack: () => void }) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const barn = barnTexts()
  const course = courseTexts()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState<{ name: string; read: Awaited<ReturnType<typeof readCourseFile>> } | null>(null)
  const save = async () => {
    const location = text.trim() === '' ? null : readCoordinates(text)
    if (location === null && text.trim() !== '') return barn.noCoordinates
    if (typeof chosen?.read === 'string') return course.faults[chosen.read]
    if (chosen !== null) await api.call('PUT /course', { body: bodyOf(chosen.read) })
    if (location !== null) await api.call('PATCH /site', { body: { location } })
    onDone()
    return null
  }
  const isLater = chosen === null && text.trim() === ''
  return (
    <StepForm
      step="place"
      title={texts.place}
      action={isLater ? texts.placeLater : texts.next}
      act={save}
      onBack={onBack}
    >
      <p>{texts.placeWhy}</p>
      <TextField name={texts.coordinates} hint={barn.coordinatesHint} max={80} value={text} onInput={setText} />
      <FileChoice
        label={chosen === null ? texts.drawing : course.chooseOther}
        accept=".geojson,.json,application/geo+json,application/json"
        onFile={async (file) => setChosen({ name: file.name, read: await readCourseFile(file) })}
      />
      <p role="status" class="small">
        {chosen === null ? course.drop : chosen.name}
      </p>
    </StepForm>
  )
}

function bodyOf({ features, attribution }: Course) {
  return { type: 'FeatureCollection' as const, features, ...(attribution === null ? {} : { attribution }) }
}
