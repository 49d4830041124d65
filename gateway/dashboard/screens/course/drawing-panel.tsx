import { useEffect, useState } from 'preact/hooks'
import { courseTexts } from '#dashboard/texts/course.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { type Course, type CourseFeature, countsOf } from '#shared/course/course.ts'
import { CourseFault, type CourseFaultKind } from '#shared/course/course-fault.ts'
import { readCourse } from '#shared/course/read-course.ts'
import type { CourseJson } from '#shared/wire/course.ts'
import { FileChoice } from './file-choice.tsx'

/** Maximum size of the course in the form that is sent; a file may contain other data, which is dropped. */
const COURSE_BYTES = 5 * 1_048_576
const FILE_BYTES = 64 * 1_048_576

type FileFault = CourseFaultKind | 'too_large'

/** Reads the course of a file in the form that is sent. */
export async function readCourseFile(file: Blob): Promise<Course | FileFault> {
  if (file.size > FILE_BYTES) return 'too_large'
  try {
    const course = readCourse(JSON.parse(await file.text()))
    return new Blob([JSON.stringify(course)]).size > COURSE_BYTES - 1000 ? 'too_large' : course
  } catch (error) {
    return error instanceof CourseFault ? error.kind : 'not_geojson'
  }
}

interface DrawingPanelProps {
  course: CourseJson | null
  /** Called with the features to preview on the map; undefined shows the saved ones. */
  onPreview: (features: readonly CourseFeature[] | undefined) => void
}

interface Chosen {
  name: string
  course: Course
}

/** Panel for the course map: choose a file, preview, save or remove it. */
export function DrawingPanel({ course, onPreview }: DrawingPanelProps) {
  const { api, gate } = useDashboard()
  const texts = courseTexts()
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const [fault, setFault] = useState<FileFault | null>(null)
  const [isSaved, setSaved] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const sending = useSending()
  useEffect(() => onPreview(chosen?.course.features), [chosen])
  const choose = async (file: File) => {
    const read = await readCourseFile(file)
    setSaved(false)
    sending.setFault(null)
    setFault(typeof read === 'string' ? read : null)
    setChosen(typeof read === 'string' ? null : { name: file.name, course: read })
  }
  const save = ({ course: { features, attribution } }: Chosen) =>
    sending.send(async () => {
      const credit = attribution === null ? {} : { attribution }
      await gate.act(() => api.call('PUT /course', { body: { type: 'FeatureCollection', ...credit, features } }))
      setChosen(null)
      setSaved(true)
    })
  const hasDrawing = course !== null && course.features.length > 0
  return (
    <section class="stack course-part" aria-labelledby="drawing-title">
      <h2 id="drawing-title">{texts.drawing}</h2>
      {chosen === null && hasDrawing && <Counted counts={course.counts} />}
      {chosen === null && course !== null && !hasDrawing && <p>{texts.none}</p>}
      {chosen !== null && <p>{texts.preview(chosen.name)}</p>}
      {chosen !== null && <Counted counts={countsOf(chosen.course.features)} isNew />}
      {chosen !== null && (
        <div class="halves">
          <Button text={texts.save} is="main" disabled={sending.isSending} onClick={() => void save(chosen)} />
          <Button text={texts.cancel} onClick={() => setChosen(null)} />
        </div>
      )}
      <div role="status">
        {fault !== null && <p class="error">{texts.faults[fault]}</p>}
        {sending.fault !== null && <p class="error">{sending.fault}</p>}
        {isSaved && <p class="good">{texts.saved}</p>}
      </div>
      <FileChoice
        label={hasDrawing || chosen !== null ? texts.chooseOther : texts.choose}
        accept=".geojson,.json,application/geo+json,application/json"
        onFile={choose}
      />
      <p class="small">{texts.drop}</p>
      {chosen === null && hasDrawing && <Button text={texts.remove} onClick={() => setAsking(true)} />}
      {isAsking && (
        <Question
          title={`${texts.remove}?`}
          action={texts.remove}
          isDanger
          onCancel={() => setAsking(false)}
          onAnswer={async () => {
            await api.call('DELETE /course')
            setSaved(false)
            setAsking(false)
          }}
        >
          <p>{texts.removeWhy}</p>
        </Question>
      )}
    </section>
  )
}

const COUNTED_KINDS = [
  'holes',
  'greens',
  'bunkers',
  'fairways',
  'tees',
  'water',
  'woods',
  'buildings',
  'paths',
] as const

/** Counts such as "18 holes, 18 greens, 63 bunkers", and missing kinds. */
function Counted({ counts, isNew = false }: { counts: CourseJson['counts']; isNew?: boolean }) {
  const texts = courseTexts()
  const counted = COUNTED_KINDS.filter((kind) => counts[kind] > 0).map((kind) => texts.counts[kind](counts[kind]))
  return (
    <>
      <p>
        <b>{counted.join(', ')}</b>
      </p>
      {isNew && counts.holes === 0 && <p class="small">{texts.noHoles}</p>}
      {isNew && counts.outlines === 0 && <p class="small">{texts.noOutline}</p>}
    </>
  )
}
