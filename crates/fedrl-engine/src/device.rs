//! Which device to run on.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use fedrl_core::wide::widest;
use fedrl_models::Policy;

use crate::fused::Fused;
use crate::kernels::Kernels;

/// What the user asked for: `auto`, `cpu`, `reference`, `gpu` or `wgpu:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// A hardware GPU when there is one and the problem is large enough to gain, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CPU by the reference path: tensors with automatic differentiation. Slow.
    Reference,
    /// The first hardware GPU.
    Gpu,
    /// The N-th adapter of `fedrl doctor`, software adapters included.
    Wgpu(usize),
    /// The N-th CUDA device.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown(text.to_string());
        match text.split_once(':') {
            None => match text {
                "auto" => Ok(DeviceChoice::Auto),
                "cpu" => Ok(DeviceChoice::Cpu),
                "reference" => Ok(DeviceChoice::Reference),
                "gpu" => Ok(DeviceChoice::Gpu),
                "wgpu" => Ok(DeviceChoice::Wgpu(0)),
                "cuda" => Ok(DeviceChoice::Cuda(0)),
                _ => Err(unknown()),
            },
            Some((kind, index)) => {
                let index = index.parse().map_err(|_| unknown())?;
                match kind {
                    "wgpu" => Ok(DeviceChoice::Wgpu(index)),
                    "cuda" => Ok(DeviceChoice::Cuda(index)),
                    _ => Err(unknown()),
                }
            }
        }
    }
}

/// One graphics adapter of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// Its name.
    pub name: String,
    /// Graphics API through which it is reached.
    pub api: String,
    /// Driver and its version.
    pub driver: String,
    /// Whether it is a CPU that pretends.
    pub software: bool,
    /// How burn addresses it.
    #[cfg(feature = "wgpu")]
    kind: burn::tensor::DeviceKind,
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.software { "software" } else { "GPU" };
        write!(f, "{} ({kind}, {}, {})", self.name, self.api, self.driver)
    }
}

/// A device, and why it was taken.
#[derive(Debug, Clone)]
pub struct Selection {
    pub(crate) device: Device,
    /// The same device for kernels of our own, unless it is the CPU.
    compute: Option<cubecl::device::Device>,
    reference: bool,
    /// The adapter, unless it is the CPU itself.
    pub adapter: Option<Adapter>,
    /// One sentence for people.
    pub reason: String,
}

impl Selection {
    /// Whether work goes to a graphics adapter, be it software.
    pub fn is_gpu(&self) -> bool {
        self.adapter.is_some()
    }

    /// Whether the lanes of the CPU's vectors are to be used wherever they can.
    pub fn in_lanes(&self) -> bool {
        !self.is_gpu() && !self.reference
    }

    /// What launches kernels of our own on it.
    pub(crate) fn kernels(&self) -> Option<Kernels> {
        let software = self.adapter.as_ref().is_some_and(|adapter| adapter.software);
        self.compute.as_ref().map(|device| Kernels::new(device.client(), software))
    }

    /// Its name, for manifests: `cpu`, or the adapter's.
    pub fn name(&self) -> String {
        self.adapter.as_ref().map_or_else(|| "cpu".into(), |adapter| adapter.name.clone())
    }

    /// Its driver, for manifests; for the CPU, what does the arithmetic of a policy.
    pub fn driver(&self, policy: &Policy) -> String {
        match &self.adapter {
            Some(adapter) => format!("{}, {}", adapter.api, adapter.driver),
            None if self.in_lanes() && Fused::new(policy).is_some() => format!("lanes, {}", widest()),
            None => "tensors, burn-flex".into(),
        }
    }

    /// What asks for it again: `choice`, unless that was left to the program.
    pub fn choice(&self, choice: &str) -> String {
        match (self.is_gpu(), self.reference) {
            (true, _) => choice.into(),
            (false, true) => "reference".into(),
            (false, false) => "cpu".into(),
        }
    }

    fn cpu(reason: impl Into<String>) -> Self {
        Selection { device: Device::flex(), compute: None, reference: false, adapter: None, reason: reason.into() }
    }

    #[cfg(feature = "wgpu")]
    fn on(adapter: Adapter, reason: impl Into<String>) -> Self {
        use burn::tensor::DeviceKind;
        use cubecl::device::{WgpuDevice, WgpuDeviceKind};

        let kind = match adapter.kind {
            DeviceKind::DiscreteGpu(index) => Some(WgpuDeviceKind::DiscreteGpu(index)),
            DeviceKind::IntegratedGpu(index) => Some(WgpuDeviceKind::IntegratedGpu(index)),
            DeviceKind::VirtualGpu(index) => Some(WgpuDeviceKind::VirtualGpu(index)),
            DeviceKind::Cpu => Some(WgpuDeviceKind::Cpu),
            _ => None,
        };
        let compute = kind.map(|kind| cubecl::device::Device::Wgpu(WgpuDevice::new(kind)));
        let device = Device::wgpu(adapter.kind.clone());
        Selection { device, compute, reference: false, adapter: Some(adapter), reason: reason.into() }
    }
}

/// Why there is no such device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Not a device's name.
    #[error("{}", fedrl_core::unknown_name("device", .0, &["auto", "cpu", "reference", "gpu", "wgpu:0"]))]
    Unknown(String),
    /// No such adapter.
    #[error("device `{wanted}` does not exist; {found}")]
    Missing {
        /// What was asked for.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// CUDA is not supported: to build it, a compiler has to be downloaded.
    #[error("device `cuda:{0}`: CUDA is not supported; an NVIDIA GPU is reached as `gpu`, through Vulkan")]
    NoCuda(usize),
    /// This build has no GPU support.
    #[error("this build has no GPU support; it was made without the cargo feature `wgpu`")]
    NotBuilt,
}

/// Parameters × trajectories per step from which `auto` takes a GPU. One step of the reference
/// path costs a GPU about twenty dispatches and a read-back, some 0.3 ms, in which two CPU cores
/// do about this many multiply-adds: an estimate, until the crossover is measured on hardware.
const GPU_WORTHWHILE: usize = 1_000_000;

/// The device for `choice`; `work` is replicas × trajectories × parameters, for `auto`.
///
/// # Errors
/// A device that does not exist here.
pub fn select(choice: DeviceChoice, work: usize) -> Result<Selection, DeviceError> {
    match choice {
        DeviceChoice::Cpu => Ok(Selection::cpu("asked for")),
        DeviceChoice::Reference => Ok(Selection { reference: true, ..Selection::cpu("asked for") }),
        DeviceChoice::Cuda(index) => Err(DeviceError::NoCuda(index)),
        DeviceChoice::Auto => Ok(auto(work)),
        DeviceChoice::Gpu => hardware().map_or_else(
            || Err(DeviceError::Missing { wanted: "gpu".into(), found: listing() }),
            |adapter| on(adapter, "asked for"),
        ),
        DeviceChoice::Wgpu(index) => adapters().into_iter().nth(index).map_or_else(
            || Err(DeviceError::Missing { wanted: format!("wgpu:{index}"), found: listing() }),
            |adapter| on(adapter, "asked for"),
        ),
    }
}

fn auto(work: usize) -> Selection {
    if work < GPU_WORTHWHILE {
        return Selection::cpu(format!(
            "{work} multiply-adds a step are too few for a GPU to gain; worthwhile from {GPU_WORTHWHILE}"
        ));
    }
    match hardware() {
        None => Selection::cpu("there is no hardware GPU"),
        Some(adapter) => on(adapter, format!("{work} multiply-adds a step are enough for a GPU to gain"))
            .unwrap_or_else(|error| Selection::cpu(error.to_string())),
    }
}

fn hardware() -> Option<Adapter> {
    adapters().into_iter().find(|adapter| !adapter.software)
}

fn listing() -> String {
    let adapters = adapters();
    if adapters.is_empty() {
        return "there is no graphics adapter here, only `cpu`".into();
    }
    let list: Vec<String> =
        adapters.iter().enumerate().map(|(index, adapter)| format!("`wgpu:{index}` is {adapter}")).collect();
    list.join(", ")
}

#[cfg(not(feature = "wgpu"))]
fn on(_adapter: Adapter, _reason: impl Into<String>) -> Result<Selection, DeviceError> {
    Err(DeviceError::NotBuilt)
}

#[cfg(feature = "wgpu")]
fn on(adapter: Adapter, reason: impl Into<String>) -> Result<Selection, DeviceError> {
    Ok(Selection::on(adapter, reason))
}

/// The graphics adapters of this machine, in the order of their numbers. None without the
/// feature `wgpu`.
#[cfg(not(feature = "wgpu"))]
pub fn adapters() -> Vec<Adapter> {
    Vec::new()
}

/// The graphics adapters of this machine, in the order of their numbers: those of the first
/// native graphics API that reaches a GPU, or of the first with a software adapter. OpenGL is not
/// asked: it seldom computes, and its loader writes to stderr where there is no display.
#[cfg(feature = "wgpu")]
pub fn adapters() -> Vec<Adapter> {
    let apis = if cfg!(target_os = "macos") {
        vec![wgpu::Backend::Metal]
    } else {
        vec![wgpu::Backend::Vulkan, wgpu::Backend::Dx12]
    };
    let mut software_only = Vec::new();
    for api in apis {
        let found = probe(api);
        if found.iter().any(|adapter| !adapter.software) {
            return found;
        }
        if software_only.is_empty() {
            software_only = found;
        }
    }
    software_only
}

#[cfg(feature = "wgpu")]
fn probe(api: wgpu::Backend) -> Vec<Adapter> {
    use burn::tensor::DeviceKind;
    use wgpu::DeviceType;

    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = api.into();
    let instance = wgpu::Instance::new(descriptor);
    let infos = burn::tensor::try_read_sync(instance.enumerate_adapters(api.into())).unwrap_or_default();
    let infos: Vec<wgpu::AdapterInfo> = infos.iter().map(wgpu::Adapter::get_info).collect();
    let nth = |index: usize| {
        let same = |info: &&wgpu::AdapterInfo| info.device_type == infos[index].device_type;
        infos[..index].iter().filter(same).count()
    };
    infos
        .iter()
        .enumerate()
        .filter_map(|(index, info)| {
            let kind = match info.device_type {
                DeviceType::DiscreteGpu => DeviceKind::DiscreteGpu(nth(index)),
                DeviceType::IntegratedGpu => DeviceKind::IntegratedGpu(nth(index)),
                DeviceType::VirtualGpu => DeviceKind::VirtualGpu(nth(index)),
                DeviceType::Cpu => DeviceKind::Cpu,
                DeviceType::Other => return None,
            };
            Some(Adapter {
                name: info.name.clone(),
                api: format!("{:?}", info.backend),
                driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
                software: info.device_type == DeviceType::Cpu,
                kind,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_are_read_and_wrong_ones_are_explained() {
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("wgpu:1".parse(), Ok(DeviceChoice::Wgpu(1)));
        assert_eq!("cuda:0".parse(), Ok(DeviceChoice::Cuda(0)));
        let error = "gpuu".parse::<DeviceChoice>().unwrap_err().to_string();
        assert_eq!(error, "unknown device `gpuu`; did you mean `gpu`? (known: auto, cpu, reference, gpu, wgpu:0)");
        assert!("wgpu:x".parse::<DeviceChoice>().is_err());
    }

    #[test]
    fn an_adapter_that_does_not_exist_is_refused_with_what_there_is() {
        let error = select(DeviceChoice::Wgpu(99), 0).unwrap_err().to_string();
        assert!(error.starts_with("device `wgpu:99` does not exist; "), "{error}");
    }

    #[test]
    fn auto_never_takes_a_software_adapter() {
        let selection = select(DeviceChoice::Auto, usize::MAX).unwrap();
        assert!(selection.adapter.is_none_or(|adapter| !adapter.software));
    }
}
