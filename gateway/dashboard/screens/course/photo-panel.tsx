import { useEffect, useMemo, useState } from 'preact/hooks'
import { fitAffine, type Pair, worstMiss } from '#dashboard/map/affine.ts'
import { metresPerUnit } from '#dashboard/map/mercator.ts'
import { cornersOf } from '#dashboard/map/photo-corners.ts'
import type { PlacedPhoto } from '#dashboard/map/photo-layer.ts'
import { courseTexts } from '#dashboard/texts/course.ts'
import { formatLength } from '#dashboard/texts/format.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import type { CourseJson } from '#shared/wire/course.ts'
import { FileChoice } from './file-choice.tsx'
import { PhotoPoints } from './photo-points.tsx'
import { type PhotoProblem, type SmallPhoto, smallPhoto } from './small-photo.ts'

interface PhotoPanelProps {
  course: CourseJson | null
  /** Place on the map that was tapped last. */
  touched: readonly [x: number, y: number] | null
  /** Called with the photo to preview on the map; undefined shows the saved one. */
  onPreview: (photo: PlacedPhoto | null | undefined) => void
}

/** Panel for the course photo: choose a file, place it by points, save or remove it. */
export function PhotoPanel({ course, touched, onPreview }: PhotoPanelProps) {
  const { api, gate, site } = useDashboard()
  const texts = courseTexts()
  const [photo, setPhoto] = useState<SmallPhoto | null>(null)
  const [problem, setProblem] = useState<PhotoProblem | null>(null)
  const [isReading, setReading] = useState(false)
  const [pairs, setPairs] = useState<readonly Pair[]>([])
  const [opacity, setOpacity] = useState(0.6)
  const [isSaved, setSaved] = useState(false)
  const sending = useSending()
  const affine = useMemo(() => fitAffine(pairs), [pairs])
  useEffect(() => {
    onPreview(photo === null ? undefined : affine === null ? null : { image: photo.image, affine, opacity })
  }, [photo, affine, opacity])
  const done = () => {
    setPhoto(null)
    setPairs([])
  }
  const choose = async (file: File) => {
    setSaved(false)
    setReading(true)
    const read = await smallPhoto(file)
    setReading(false)
    setProblem(typeof read === 'string' ? read : null)
    setPairs([])
    setPhoto(typeof read === 'string' ? null : read)
  }
  const save = ({ blob, image }: SmallPhoto) =>
    sending.send(async () => {
      if (affine === null) return
      const corners = cornersOf(affine, image)
      await gate.act(() => api.call('PUT /course/photo', { query: { corners }, body: blob }))
      done()
      setSaved(true)
    })
  const remove = () => sending.send(async () => void (await gate.act(() => api.call('DELETE /course/photo'))))
  return (
    <section class="stack course-part" aria-labelledby="photo-title">
      <h2 id="photo-title">{texts.photo}</h2>
      {photo === null && <p>{course?.photo == null ? texts.noPhoto : texts.hasPhoto}</p>}
      {photo !== null && <PhotoPoints image={photo.image} pairs={pairs} touched={touched} onPairs={setPairs} />}
      {photo !== null && affine !== null && (
        <>
          <p class="small">
            {pairs.length === 2 ? texts.enough : texts.miss(formatLength(missOf(pairs, affine), site.value.units))}
          </p>
          <label class="field">
            {texts.opacity}
            <input
              type="range"
              min="20"
              max="100"
              value={Math.round(opacity * 100)}
              onInput={({ currentTarget }) => setOpacity(Number(currentTarget.value) / 100)}
            />
          </label>
          <Button text={texts.save} is="main" disabled={sending.isSending} onClick={() => void save(photo)} />
        </>
      )}
      <div role="status">
        {isReading && <p>{texts.choosing} …</p>}
        {problem !== null && <p class="error">{texts.photoFaults[problem]}</p>}
        {sending.fault !== null && <p class="error">{sending.fault}</p>}
        {isSaved && <p class="good">{texts.saved}</p>}
      </div>
      {photo !== null && <Button text={texts.cancel} onClick={done} />}
      {photo === null && (
        <FileChoice label={texts.choosePhoto} accept="image/jpeg,image/png,image/webp" onFile={choose} />
      )}
      {photo === null && course?.photo != null && (
        <Button text={texts.removePhoto} disabled={sending.isSending} onClick={() => void remove()} />
      )}
    </section>
  )
}

/** Largest error of the placement, in true metres. */
function missOf(pairs: readonly Pair[], affine: NonNullable<ReturnType<typeof fitAffine>>): number {
  return Math.ceil(worstMiss(pairs, affine) * metresPerUnit(pairs[0]?.to[1] ?? 0))
}
