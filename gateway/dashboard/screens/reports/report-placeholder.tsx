import { reportTexts } from '#dashboard/texts/reports.ts'
import { Fault } from '#dashboard/ui/fault.tsx'

interface WaitingProps {
  fault: string | null
  again: () => void
  /** What there is to say once the answer is there; null for nothing. */
  says: string | null
  isHere: boolean
}

/** What stands in place of a report until it is there, or where there is nothing in it. */
export function ReportPlaceholder({ fault, again, says, isHere }: WaitingProps) {
  const texts = reportTexts()
  return (
    <div role="status" class="reports-says">
      {fault === null && !isHere && <p>{texts.adding} …</p>}
      {says !== null && <p>{says}</p>}
      {fault !== null && (
        <>
          <Fault text={fault} />
          <button type="button" class="button" onClick={again}>
            {texts.again}
          </button>
        </>
      )}
    </div>
  )
}
