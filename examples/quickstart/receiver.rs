//! The second process: it reads one message from its standard input and checks all of it.

use std::io;

use serde_tensor::{Category, Decoder, Device, DeviceGuard, Report, Rule};

use crate::cases::{CASES, Expected};
use crate::lesson::Lesson;
use crate::{Result, simulated, warnings};

pub(crate) fn run(name: &str) -> Result<()> {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| format!("there is no case `{name}`; without an argument all of them run"))?;
    let warned = warnings::listen("receiver")?;
    simulated::set_gpus(case.gpus);

    let decoded = {
        let _guard = case.guard.map(DeviceGuard::enter);
        Decoder::new()
            .on_missing(case.on_missing)
            .from_reader_with_report::<_, Lesson>(io::stdin().lock())
    };

    match (&case.expected, decoded) {
        (Expected::Landed { on, by, warnings }, Ok((lesson, report))) => {
            println!("{report}");
            check_places(&report, *on, *by)?;
            same("number of warnings", &warned.count(), warnings)?;
            let pixels = check_values(&lesson)?;
            println!("All {pixels} pixels, and all else, are as they were sent.");
            Ok(())
        }
        (Expected::Refused(why), Err(error)) if error.category() == Category::Device => {
            same("path", &error.path(), &Some("digits.images"))?;
            same("device named", &error.message().contains(why), &true)?;
            same("number of warnings", &warned.count(), &0)?;
            println!("Refused, as asked: {error}");
            Ok(())
        }
        (_, Err(error)) => Err(error.into()),
        (Expected::Refused(_), Ok((_, report))) => {
            Err(format!("`{}` is to be refused, and is not:\n{report}", case.name).into())
        }
    }
}

/// Each tensor is where its rule puts it.
fn check_places(report: &Report, images_on: Device, images_by: Rule) -> Result<()> {
    same("number of tensors", &report.len(), &7)?;
    for tensor in report {
        let expected = match tensor.path() {
            "digits.images" => (images_on, images_by),
            "means" => (Device::Cpu, Rule::Field),
            _ => (Device::Cpu, Rule::HostOnly),
        };
        same(tensor.path(), &(tensor.device(), tensor.rule()), &expected)?;
    }
    Ok(())
}

/// Everything is as it was sent, which is known since this process can load the digits too. Returns how many pixels it compared.
fn check_values(lesson: &Lesson) -> Result<usize> {
    let sent = Lesson::load(Device::Cpu)?;
    let (images, means) = (lesson.digits.images.to_host(), lesson.means.to_host());
    let (sent_images, sent_means) = (sent.digits.images.to_host(), sent.means.to_host());
    same("shape of the images", &images.shape(), &sent_images.shape())?;

    let (pixels, sent_pixels) = (images.elements::<u8>()?, sent_images.elements::<u8>()?);
    if let Some(at) = (0..sent_pixels.len()).find(|at| pixels[*at] != sent_pixels[*at]) {
        return Err(format!("pixel {at} is {}, not {}", pixels[at], sent_pixels[at]).into());
    }
    same("means", &means, &sent_means)?;
    same("labels", &lesson.digits.labels, &sent.digits.labels)?;
    same("samples", &lesson.samples, &sent.samples)?;
    same("task", &lesson.task, &sent.task)?;
    same(
        "title and counts",
        &(&lesson.title, &lesson.counts),
        &(&sent.title, &sent.counts),
    )?;
    Ok(pixels.len())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found:?}, not {expected:?}").into())
    }
}
